-- The text that is signed: the tokens of a body, joined, in Base64, its characters sorted.
--
-- Tokens are runs of ASCII letters, digits and the characters U+4E00 to U+9FA5. This is what Weir's scheme
-- `sorted_tokens` signs, made step by step; check.lua compares the two.

local new_tab = require "table.new"

local ngx = ngx
local find, gmatch, encode_base64 = ngx.re.find, ngx.re.gmatch, ngx.encode_base64
local concat, sub = table.concat, string.sub

local _M = {}

local TOKENS = [[[A-Za-z0-9\x{4e00}-\x{9fa5}]+]]

-- Whether a text is UTF-8. PCRE says so before it matches anything.
function _M.is_utf8(text)
  local _, _, err = find(text, [[\A]], "jou")
  return not err
end

-- The sorted text of a body, or nil if the body is not UTF-8. `sort` sorts an array in place.
function _M.sorted(body, sort)
  if not _M.is_utf8(body) then return nil end
  local tokens, n = {}, 0
  -- `U`: PCRE would check the whole body again for each token.
  local iterator = gmatch(body, TOKENS, "joU")
  while true do
    local match = iterator()
    if not match then break end
    n = n + 1
    tokens[n] = match[0]
  end
  local encoded = encode_base64(concat(tokens))
  local length = #encoded
  local characters = new_tab(length, 0)
  for i = 1, length do characters[i] = sub(encoded, i, i) end
  sort(characters)
  return concat(characters)
end

return _M
