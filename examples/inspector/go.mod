module weir.example/inspector

go 1.21
