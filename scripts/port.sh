# A free port of 127.0.0.1; other scripts source it. It is below the ports that the kernel gives to connections.

free_port() {
  local port
  while port=$((RANDOM % 12000 + 20000)); do
    (: </dev/tcp/127.0.0.1/$port) 2>/dev/null || { echo $port; return; }
  done
}
