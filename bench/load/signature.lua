-- Sends requests from a file, one after the other and then again from the first.
--
--   WEIR_BENCH_REQUESTS  the file: of each request its length in bytes, a line end, and the request
--
-- Requests are signed before the load begins, because signing each would cost the load generator more than sending it,
-- and with every scheme a different time. The report is that of rs.lua: the benchmark appends it.

local requests = {}
function init()
  local path = assert(os.getenv("WEIR_BENCH_REQUESTS"), "WEIR_BENCH_REQUESTS names no file")
  local file = assert(io.open(path, "rb"))
  for line in file:lines() do
    local length = assert(tonumber(line), "a line of the file is not a length")
    local request = file:read(length)
    assert(request and #request == length, "the file ends within a request")
    requests[#requests + 1] = request
  end
  file:close()
  assert(#requests > 0, "the file has no requests")
end

local next_request = 0
function request()
  next_request = next_request % #requests + 1
  return requests[next_request]
end

