-- A recursion of 200 frames that works at its end.
local function down(n)
  if n == 0 then
    local x = 0
    for i = 1, 20000 do x = x + i % 3 end
    return x
  end
  return 1 + down(n - 1)
end
local function start() return down(199) + 0 end
while true do start() end
