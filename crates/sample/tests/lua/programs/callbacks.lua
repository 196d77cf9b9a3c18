-- Lua called by C called by Lua: a comparison of table.sort, a replacement of string.gsub, pcall, a metamethod.
local sin = math.sin
local function compare(a, b) return a.v < b.v end
local function replace(s)
  local x = 0
  for i = 1, 50 do x = x + i end
  return s .. "-"
end
local function sorting()
  local t = {}
  for i = 1, 200 do t[i] = { v = (i * 7919) % 1009 } end
  table.sort(t, compare)
end
local function replacing() return (("abc def ghi jkl mno pqr"):rep(20):gsub("%w+", replace)) end
local function protected()
  local x = 0
  for i = 1, 2000 do x = x + sin(i) end
  if x then error("on purpose") end
end
local function guarding() return pcall(protected) and 1 end
local table_of = setmetatable({}, { __index = function(_, _)
  local x = 0
  for i = 1, 50 do x = x + i % 3 end
  return x
end })
local function indexing()
  local sum = 0
  for i = 1, 200 do sum = sum + table_of["k" .. i % 10] end
  return sum
end
while true do
  sorting()
  replacing()
  guarding()
  indexing()
end
