-- Orders of a thousand customers and items. Of a load named shadow-10, each tenth is marked as load-test traffic. PAUSE_MS is
-- the mean pause of a connection before a request; without one, a connection sends as fast as answers come.

local share = tonumber((os.getenv("WEIR_BENCH_LOAD") or ""):match("^shadow%-(%d+)$")) or 0
local requests, sent = {}, 0

function init()
  for i = 1, 1000 do
    local headers = {}
    if i % 100 < share then headers["baggage"] = "weir.shadow=1" end
    -- 389 and 1000 have no common divisor, so that every item comes up.
    requests[i] = wrk.format("GET", "/order?customer=c" .. i .. "&item=item-" .. (i * 389) % 1000, headers)
  end
end

function request()
  sent = sent % #requests + 1
  return requests[sent]
end

if PAUSE_MS then
  function delay() return math.floor(-math.log(1 - math.random()) * PAUSE_MS) end
end

