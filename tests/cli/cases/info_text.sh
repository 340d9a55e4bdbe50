# all but the time it took
furrow rows info small.libsvm | sed -E '/^(seconds|MB per second|threads)/s/ +[^ ]+$/ .../'
