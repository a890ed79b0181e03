/**
 * The server is the child of a watchdog that reads our pipe: when this process ends, even by `kill -9`, the pipe
 * closes and the watchdog stops the server. Signals meant for us, as Ctrl-C sends them to everybody, do not reach it.
 * A shell starts what runs in the background with SIGINT ignored, so that one sent before the server has its handler is
 * lost: it is sent until the server has ended. An image without `sleep` has `cat`, which takes a moment too.
 */
export const WATCHDOG_SH = `trap '' INT TERM HUP
exec 4<&0
"$0" "$@" 4<&- </dev/null & p=$!
(cat <&4 >/dev/null; while kill -INT $p 2>/dev/null; do sleep 0.1 2>/dev/null || cat /dev/null; done) & w=$!
wait $p; s=$?
kill -9 $w 2>/dev/null
exit $s`

/** The same where there is no shell: this executable, as Bun, with a script. */
export const WATCHDOG_JS = `const { argv: [, program, ...args], env } = process
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
const extra = env.WALLETSCOPE_HOME_FD ? [3] : []
delete env.BUN_BE_BUN
const child = require('node:child_process').spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit', ...extra] })
process.stdin.on('end', () => child.kill('SIGINT')).on('error', () => child.kill('SIGINT')).resume()
child.on('exit', (code) => process.exit(code ?? 1))
child.on('error', () => process.exit(1))`
