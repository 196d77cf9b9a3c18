-- Coroutines that resume each other, three deep; each does some work of its own.
local function burn(n)
  local x = 0
  for i = 1, n do x = x + i % 3 end
  return x
end
local function inner()
  while true do
    burn(3000)
    coroutine.yield()
  end
end
local function middle()
  local next = coroutine.wrap(inner)
  while true do
    next()
    burn(1500)
    coroutine.yield()
  end
end
local function outer()
  local next = coroutine.create(middle)
  while true do
    coroutine.resume(next)
    burn(500)
    coroutine.yield()
  end
end
local next = coroutine.wrap(outer)
while true do next() end
