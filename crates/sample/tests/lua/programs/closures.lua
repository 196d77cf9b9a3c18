-- Functions that live for one call, with tables enough to keep the collector at work.
local function make(i)
  local function short_lived(x)
    local t = {}
    for j = 1, 20 do t[j] = { x + i + j } end
    return #t
  end
  return short_lived
end
local function run(i)
  local sum = 0
  for _ = 1, 20 do
    local short_lived = make(i)
    sum = sum + short_lived(i)
  end
  return sum
end
local i = 0
while true do
  i = i + 1
  run(i)
end
