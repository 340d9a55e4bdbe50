furrow rows dump small.libsvm
furrow rows dump weights.libsvm
furrow rows dump --index u64 'small.libsvm?indexing_mode=1' --head 2
furrow rows dump --value i64 --index u64 --head 1 - <<END
9007199254740993 18446744073709551615:-9223372036854775808 0:9223372036854775807
END
