# a folder of LangChain is its index; the pickle is not opened
awk 'BEGIN { print "x,y"; for (i = 1; i <= 30; i++) print i "," i * i }' >v.csv
mkdir shelf && furrow index build --base v.csv --out shelf/index.faiss -q >/dev/null
printf 'not a pickle' >shelf/index.pkl && chmod 000 shelf/index.pkl
furrow info shelf/
furrow info shelf --json | is_json
head -c 40 shelf/index.faiss >cut && cp cut shelf/index.faiss
furrow info shelf | grep -E '^(kind|status)'
