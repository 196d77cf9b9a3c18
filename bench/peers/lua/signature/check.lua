-- Verifies the corpus that Weir's tests verify, with every sort, under plain LuaJIT: `luajit check.lua`.
--
-- The functions of ngx that are used are made from the libraries that nginx has them from: PCRE2 and OpenSSL.

local ffi = require "ffi"
local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/../?.lua;" .. package.path

ffi.cdef [[
  unsigned char *MD5(const unsigned char *, size_t, unsigned char *);
  int EVP_EncodeBlock(unsigned char *, const unsigned char *, int);
  int EVP_DecodeBlock(unsigned char *, const unsigned char *, int);
  void *pcre2_compile_8(const char *, size_t, uint32_t, int *, size_t *, void *);
  void *pcre2_match_data_create_8(uint32_t, void *);
  int pcre2_match_8(const void *, const char *, size_t, size_t, uint32_t, void *, void *);
  size_t *pcre2_get_ovector_pointer_8(void *);
]]
local crypto, pcre = ffi.load("libcrypto.so.3"), ffi.load("libpcre2-8.so.0")
local UTF, NO_UTF_CHECK, NO_MATCH = 0x00080000, 0x40000000, -1

local compiled = {}
local data = pcre.pcre2_match_data_create_8(1, nil)
-- First and last byte of the first match from a position, or nil and perhaps an error.
local function match(subject, pattern, flags, from)
  if not compiled[pattern] then
    compiled[pattern] = pcre.pcre2_compile_8(pattern, #pattern, UTF, ffi.new("int[1]"), ffi.new("size_t[1]"), nil)
    assert(compiled[pattern] ~= nil, "the pattern does not compile")
  end
  local options = flags:find("U", 1, true) and NO_UTF_CHECK or 0
  local code = pcre.pcre2_match_8(compiled[pattern], subject, #subject, from, options, data, nil)
  if code < 0 then return nil, code ~= NO_MATCH and code or nil end
  local bounds = pcre.pcre2_get_ovector_pointer_8(data)
  return tonumber(bounds[0]) + 1, tonumber(bounds[1])
end

ngx = { re = {} }
function ngx.re.find(subject, pattern, flags)
  local first, last = match(subject, pattern, flags, 0)
  if first then return first, last end
  return nil, nil, last
end
function ngx.re.gmatch(subject, pattern, flags)
  local from = 0
  return function()
    local first, last = match(subject, pattern, flags, from)
    if not first then return nil end
    from = last
    return { [0] = subject:sub(first, last) }
  end
end
function ngx.encode_base64(text)
  local out = ffi.new("unsigned char[?]", math.ceil(#text / 3) * 4 + 1)
  return ffi.string(out, crypto.EVP_EncodeBlock(out, text, #text))
end
function ngx.md5(text)
  local out = ffi.new("unsigned char[16]")
  crypto.MD5(text, #text, out)
  return (ffi.string(out, 16):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end
local function decode_base64(text)
  local out = ffi.new("unsigned char[?]", #text + 1)
  local length = crypto.EVP_DecodeBlock(out, text, #text)
  return ffi.string(out, length - #text:match("=*$"))
end

local sorts, tokens = require "signature.sort", require "signature.tokens"
local names = { "table", "shell", "smooth" }
local wrong = 0
local function expect(is_right, ...)
  if is_right then return end
  wrong = wrong + 1
  print("WRONG", ...)
end

-- The sorts, with lists of every small length.
local state = 1
local function random(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return math.floor(state / 65536) % n
end
for length = 0, 300 do
  local list = {}
  for i = 1, length do list[i] = string.char(65 + random(1 + length % 64)) end
  local right = { unpack(list) }
  table.sort(right)
  for _, name in ipairs(names) do
    local sorted = { unpack(list) }
    sorts[name](sorted)
    expect(table.concat(sorted) == table.concat(right), "sort", name, length)
  end
end

local entries = 0
for line in io.lines(here .. "/corpus.jsonl") do
  local function field(name) return assert(line:match('"' .. name .. '":"([^"\\]*)"'), line) end
  local body, secret, expected = decode_base64(field("body")), field("secret"), field("expected")
  for _, name in ipairs(names) do
    local text = tokens.sorted(body, sorts[name])
    local found = text and ngx.md5(text .. secret) or "invalid"
    expect(found == expected, name, found, line)
  end
  entries = entries + 1
end
expect(entries > 0, "the corpus is empty")
print(("%d entries, %d sorts, %d wrong"):format(entries, #names, wrong))
os.exit(wrong == 0 and 0 or 1)
