-- Form posts as browsers send them, in 256 varieties, built once before the load begins, so that
-- the generator itself costs next to nothing.
--
--   WEIR_BENCH_BODY   bytes of the body (default: a small form; 0: no body, but still POST)
--
-- The client's address is in X-Forwarded-For, as behind any load balancer, and differs
-- from request to request: address lists and country lookups see more than 127.0.0.1.

local VARIETIES = 256

local paths = {
  "/shop/cart/update", "/account/profile", "/search", "/api/v1/orders", "/blog/2026/11/hello-world/comments",
  "/checkout/address", "/products/garden/chairs/oak-folding-chair", "/newsletter/subscribe",
}
local agents = {
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Safari/605.1.15",
  "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Mobile/15E148 Safari/604.1",
}
local referers = {
  "https://www.example.com/products/garden?sort=price&page=2",
  "https://www.example.com/",
  "https://www.example.com/account/orders/1732190400",
  "https://www.google.com/",
}
local words = {
  "garden", "oak", "chair", "blue", "summer", "order", "delivery", "Karlsruhe", "Zürich", "selected", "union square",
  "table for four", "from Berlin", "insert coin", "script reading", "where to eat", "drop off point", "or else",
}
local names = { "Ada Lovelace", "Grace Hopper", "Karl Jansky", "Lise Meitner", "Alan Turing", "Emmy Noether", "Renée O'Connor" }

-- A pseudo-random generator, so that every run sends the same requests.
local state = 20261121
local function random(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return math.floor(state / 65536) % n + 1
end
local function pick(list) return list[random(#list)] end

local function encode(text)
  return (text:gsub("[^%w%-_.~ ]", function(c) return string.format("%%%02X", c:byte()) end):gsub(" ", "+"))
end
local function hex(n)
  local out = {}
  for i = 1, n do out[i] = string.format("%x", random(16) - 1) end
  return table.concat(out)
end

local function pairs_of(fields)
  local out = {}
  for i = 1, #fields, 2 do out[#out + 1] = fields[i] .. "=" .. encode(tostring(fields[i + 1])) end
  return table.concat(out, "&")
end

local function small_form()
  return pairs_of {
    "name", pick(names), "email", "user" .. random(9999) .. "@example.org", "city", pick(words),
    "quantity", random(12), "note", pick(words) .. " " .. pick(words) .. ", " .. pick(words), "csrf_token", hex(32),
  }
end

local function form_of(size)
  if size == 0 then return "" end
  local parts, length, i = {}, 0, 0
  -- Weir refuses forms of more than 10,000 fields, so those of large ones are longer.
  local pieces = 1 + math.floor(size / 300000)
  while length < size do
    i = i + 1
    local values = {}
    for n = 1, pieces do values[n] = pick(words) .. " " .. hex(12) .. " " .. pick(names) .. " " .. pick(words) end
    local part = "field" .. i .. "=" .. encode(table.concat(values, " ")) .. "&"
    parts[i] = part
    length = length + #part
  end
  return table.concat(parts):sub(1, size - 1) .. "x"
end

-- Public addresses whose country the generated database knows; 175/8 and 198/8 are never
-- used, because the policy blocks from there.
local function address()
  local first = 20 + random(120)
  return first .. "." .. (random(250)) .. "." .. (random(250)) .. "." .. (random(250))
end

local requests = {}
local size = tonumber(os.getenv("WEIR_BENCH_BODY") or "")

function init()
  -- A megabyte times 256 would take memory and cache that the proxy needs.
  local varieties = (size or 0) > 20000 and 8 or VARIETIES
  for i = 1, varieties do
    local query = pairs_of {
      "q", pick(words), "page", random(40), "sort", pick { "price", "name", "date" }, "lang", pick { "en", "de", "fr" },
      "utm_source", pick { "newsletter", "search", "partner" }, "session", hex(16),
    }
    requests[i] = wrk.format("POST", pick(paths) .. "?" .. query, {
      ["Host"] = "www.example.com",
      ["User-Agent"] = pick(agents),
      ["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
      ["Accept-Language"] = "en-GB,en;q=0.8,de;q=0.5",
      ["Accept-Encoding"] = "gzip, deflate, br",
      ["Content-Type"] = "application/x-www-form-urlencoded",
      ["Origin"] = "https://www.example.com",
      ["Referer"] = pick(referers),
      ["Cookie"] = "sid=" .. hex(32) .. "; theme=light; consent=1; _ga=GA1.2." .. random(999999) .. "." .. random(999999)
        .. "; cart=" .. hex(24),
      ["X-Forwarded-For"] = address(),
      ["X-Forwarded-Proto"] = "https",
      ["Cache-Control"] = "max-age=0",
    }, size and form_of(size) or small_form())
  end
end

local next_request = 0
function request()
  next_request = next_request % #requests + 1
  return requests[next_request]
end

-- The one line that the benchmark parses; the rest of the output of wrk is for people.
function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format(
    'weir-load {"requests":%d,"duration_us":%d,"bytes":%d,"p50_us":%d,"p90_us":%d,"p99_us":%d,"max_us":%d,'
      .. '"failed_connects":%d,"failed_reads":%d,"failed_writes":%d,"bad_statuses":%d,"timeouts":%d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(90),
    latency:percentile(99), latency.max, e.connect, e.read, e.write, e.status, e.timeout))
end
