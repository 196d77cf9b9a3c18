//! The ledger: always-on cost counters and the run-time switches, in files that every nginx
//! worker maps and that `weir cost`, `weir status` and `weir silence` read and write from
//! outside at any time.
