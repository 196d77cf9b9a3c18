-- Work of different kinds, for a comparison by function with LuaJIT's profiler; ends after some seconds of CPU.
local clock = os.clock
local stop = clock() + tonumber(arg[1])
local function integers(n)
  local x = 0
  for i = 1, n do x = x + i % 7 end
  return x
end
local function tables(n)
  local t = {}
  for i = 1, n do t[i] = { i } end
  return #t
end
local function texts(n)
  local s = ""
  for i = 1, n do s = i .. ":" .. (i + 1) end
  return s
end
local function fibonacci(n)
  if n < 2 then return n end
  return fibonacci(n - 1) + fibonacci(n - 2)
end
local function worker()
  while true do
    tables(300)
    coroutine.yield()
  end
end
local tabling = coroutine.wrap(worker)
while clock() < stop do
  integers(20000)
  tabling()
  texts(300)
  fibonacci(15)
end
