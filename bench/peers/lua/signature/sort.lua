-- Three ways to sort an array in place. LuaJIT does not compile `table.sort`, but compiles the other two.

local floor = math.floor

local _M = { table = table.sort }

-- Gaps by Ciura, "Best Increments for the Average Case of Shellsort" (2001), and further ones times 2.25.
local GAPS = { 1, 4, 10, 23, 57, 132, 301, 701 }
while GAPS[#GAPS] < 2 ^ 30 do GAPS[#GAPS + 1] = floor(GAPS[#GAPS] * 2.25) end

function _M.shell(list)
  local n = #list
  local step = 1
  while GAPS[step + 1] < n do step = step + 1 end
  for s = step, 1, -1 do
    local gap = GAPS[s]
    for i = gap + 1, n do
      local value, at = list[i], i
      while at > gap and value < list[at - gap] do
        list[at] = list[at - gap]
        at = at - gap
      end
      list[at] = value
    end
  end
end

-- Smoothsort: Dijkstra, EWD796a (1981). The array is a row of heaps, each of as many elements as a Leonardo number, whose
-- roots ascend. The root of a heap of order k is its last element; before it stand heaps of the orders k-1 and k-2.
local SIZES = { [0] = 1, 1 }
for k = 2, 44 do SIZES[k] = SIZES[k - 1] + SIZES[k - 2] + 1 end

-- Moves the root of a heap down to its place.
local function sift(list, root, order)
  local value = list[root]
  while order > 1 do
    local child, below = root - 1, order - 2
    local left = child - SIZES[below]
    if list[child] < list[left] then child, below = left, order - 1 end
    if not (value < list[child]) then break end
    list[root] = list[child]
    root, order = child, below
  end
  list[root] = value
end

-- Moves the root of the last heap to the heap where it belongs, and down there.
local function trinkle(list, root, orders, last)
  local value = list[root]
  while last > 1 do
    local order = orders[last]
    local previous = root - SIZES[order]
    local greatest = list[previous]
    if not (value < greatest) then break end
    if order > 1 then
      local right = root - 1
      if greatest < list[right] or greatest < list[right - SIZES[order - 2]] then break end
    end
    list[root] = greatest
    root, last = previous, last - 1
  end
  list[root] = value
  return sift(list, root, orders[last])
end

function _M.smooth(list)
  local n = #list
  local orders, last = {}, 0
  for i = 1, n do
    if last > 1 and orders[last - 1] == orders[last] + 1 then
      last = last - 1
      orders[last] = orders[last] + 1
    else
      local order = last > 0 and orders[last] == 1 and 0 or 1
      last = last + 1
      orders[last] = order
    end
    -- A heap that will be a part of a greater one need not be in the row's order yet.
    local order, left = orders[last], n - i
    local is_part
    if last > 1 and orders[last - 1] == order + 1 then
      is_part = left > 0
    else
      is_part = order > 0 and left > SIZES[order - 1]
    end
    if is_part then sift(list, i, order) else trinkle(list, i, orders, last) end
  end
  for i = n, 2, -1 do
    local order = orders[last]
    last = last - 1
    if order > 1 then
      orders[last + 1] = order - 1
      trinkle(list, i - 1 - SIZES[order - 2], orders, last + 1)
      orders[last + 2] = order - 2
      trinkle(list, i - 1, orders, last + 2)
      last = last + 2
    end
  end
end

return _M
