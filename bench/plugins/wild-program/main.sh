#!/bin/sh
# Misbehaves as its command says, as much as `amount` says.
read -r request
amount=${request##*'"amount":'}
amount=${amount%%\}*}
command=${request##*'"command":"'}
case ${command%%'"'*} in
  stdout) yes | head -c "${amount}000000" ;;
  stderr) yes >&2 ;;
  loop) while :; do :; done ;;
  stays) trap '' TERM; sleep "$amount" & while kill -0 $!; do wait; done ;;
  memory) head -c "${amount}000000" /dev/zero | tail -n 1 | wc -c >&2; echo '{"status":"ok"}' ;;
  forks) sleep 1000 & echo '{"status":"ok"}' ;;
  crash) kill -SEGV $$ ;;
esac
