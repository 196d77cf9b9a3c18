-- Writes requests of a load, as `make bench SCENARIO=crs` sends them, for crates/engine/benches/crs.rs:
--
--   WEIR_BENCH_LOAD=form-fresh luajit bench/load/dump.lua 1000 > FILE
--   WEIR_REQUESTS=$PWD/FILE WEIR_TIMES=10000 cargo bench -p weir-engine --bench crs

wrk = {}
function wrk.format(method, path, headers, body)
  local out = { method .. " " .. path .. " HTTP/1.1\r\n" }
  for name, value in pairs(headers) do out[#out + 1] = name .. ": " .. value .. "\r\n" end
  if body then out[#out + 1] = "Content-Length: " .. #body .. "\r\n" end
  return table.concat(out) .. "\r\n" .. (body or "")
end

local folder = arg[0]:match("^(.*)/") or "."
dofile(folder .. "/crs.lua")
init()
for _ = 1, tonumber(arg[1]) do io.write(request()) end
