-- The check of a body's signature in a Lua gateway, before optimisation.
--
-- The alphanumeric and CJK tokens of the body are extracted one by one, encoded, split into
-- characters, sorted with a comparison function in Lua and joined, and the digest of the result
-- is compared with the one that the client sent. The code is written the obvious way, so that a
-- diagnosis has to find its costs: `table.sort`, which LuaJIT does not compile, then regex
-- iteration and the growth of tables.

local _M = {}

-- A selector with one rule: the paths, and the position of the signature.
local SELECTOR = { prefix = "/", rules = { { header = "X-Signature", digest = ngx.md5 } } }

-- Runs of ASCII letters and digits, or of bytes beyond ASCII: CJK in UTF-8.
local TOKEN = "[A-Za-z0-9]+|[\\x{80}-\\x{FF}]+"

local function tokens_of(body)
  local tokens = {}
  local iterator = ngx.re.gmatch(body, TOKEN)
  while true do
    local match = iterator()
    if not match then break end
    tokens[#tokens + 1] = match[0]
  end
  return tokens
end

local function characters_of(tokens)
  local characters = {}
  for i = 1, #tokens do
    local encoded = ngx.escape_uri(tokens[i])
    for j = 1, #encoded do
      characters[#characters + 1] = encoded:sub(j, j)
    end
  end
  return characters
end

local function ordered(characters)
  table.sort(characters, function(left, right) return left < right end)
  return table.concat(characters)
end

local function verify(rule, body)
  local sent = ngx.var["http_" .. rule.header:lower():gsub("-", "_")]
  local computed = rule.digest(ordered(characters_of(tokens_of(body))))
  -- The load sends no signature: only the cost of the check matters here.
  return sent == nil or sent == computed
end

function _M.run()
  if ngx.var.uri:sub(1, #SELECTOR.prefix) ~= SELECTOR.prefix then return end
  ngx.req.read_body()
  local body = ngx.req.get_body_data() or ""
  for i = 1, #SELECTOR.rules do
    if not verify(SELECTOR.rules[i], body) then return ngx.exit(401) end
  end
end

return _M
