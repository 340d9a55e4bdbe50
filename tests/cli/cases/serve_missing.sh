# the program furrow-serve is neither beside the command nor on the path; a program that cannot be run
mkdir alone empty
cp "$(realpath "$(command -v furrow)")" alone/furrow
PATH=$PWD/empty try alone/furrow serve --model ctr=ctr.model
echo 'not a program' >empty/furrow-serve
PATH=$PWD/empty try alone/furrow serve --model ctr=ctr.model
# help needs no other program
PATH=$PWD/empty alone/furrow serve --help | head -n 2
# one on the path gets every word as it was given
mkdir found
cat >found/furrow-serve <<'END'
#!/bin/bash
printf '<%s>' "$@"
echo
END
chmod +x found/furrow-serve
PATH=$PWD/found:/usr/bin:/bin alone/furrow serve --model 'ctr=a b.model' --listen 127.0.0.1:0
