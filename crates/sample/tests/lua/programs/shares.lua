-- Three functions that take five, three and two parts of the CPU's time, by the CPU's clock.
local clock = os.clock
local function half(limit)
  local n = 0
  while clock() < limit do for i = 1, 2000 do n = n + i % 3 end end
  return n
end
local function third(limit)
  local n = 0
  while clock() < limit do for i = 1, 2000 do n = n + i % 5 end end
  return n
end
local function fifth(limit)
  local n = 0
  while clock() < limit do for i = 1, 2000 do n = n + i % 7 end end
  return n
end
while true do
  local now = clock()
  half(now + 0.005)
  third(now + 0.008)
  fifth(now + 0.010)
end
