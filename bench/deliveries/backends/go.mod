module weir.example/bench/deliveries

go 1.21
