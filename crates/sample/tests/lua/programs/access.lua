-- What an access handler does: variables, headers, sorting, a coroutine.
local function read_vars()
  local t = {}
  for i = 1, 30 do t["k" .. i] = ngx.var.uri .. i end
  return t
end
local function compare(a, b) return a < b end
local function sort_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, compare)
  return keys
end
local function spin()
  local x = 0
  for i = 1, 20000 do x = x + i % 7 end
  return x
end
sort_keys(read_vars())
local count = 0
for _ in pairs(ngx.req.get_headers()) do count = count + 1 end
local routine = coroutine.create(function() local x = spin(); coroutine.yield(x) end)
coroutine.resume(routine)
ngx.thread.wait(ngx.thread.spawn(spin))
