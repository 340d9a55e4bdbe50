furrow rows dump words.libsvm
furrow rows info words.libsvm | grep ignored
head -n 2 words.libsvm | furrow rows dump -
