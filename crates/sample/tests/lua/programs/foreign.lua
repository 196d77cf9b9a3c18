-- C functions called by FFI, from traces.
local ffi = require "ffi"
ffi.cdef [[ size_t strlen(const char *s); ]]
local text = ("x"):rep(20000)
local function lengths()
  local n = 0
  for _ = 1, 500 do n = n + tonumber(ffi.C.strlen(text)) end
  return n
end
while true do lengths() end
