/**
 * The server is the child of a watchdog that reads our pipe: when this process ends, even by `kill -9`, the pipe closes
 * and the watchdog stops the server. Signals to our terminal, such as Ctrl-C, do not reach it. A shell starts
 * background processes with SIGINT ignored, and one sent before the server has its handler is lost, so it is repeated
 * until the server has ended. An image without `sleep` has `cat`, which takes a moment too. The process that waits for
 * our pipe must not hold the server's pipes: a `cat` that outlives it would look like a server that still writes.
 */
export const WATCHDOG_SH = `trap '' INT TERM HUP
exec 4<&0
"$0" "$@" 4<&- </dev/null & p=$!
(cat <&4; while kill -INT $p; do sleep 0.1 || cat /dev/null; done) >/dev/null 2>&1 & w=$!
wait $p; s=$?
kill -9 $w 2>/dev/null
exit $s`

/** The watchdog for images without a shell: this executable runs the script as Bun. */
export const WATCHDOG_JS = `const { argv: [, program, ...args], env } = process
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
const extra = env.WALLETSCOPE_HOME_FD ? [3] : []
delete env.BUN_BE_BUN
const child = require('node:child_process').spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit', ...extra] })
process.stdin.on('end', () => child.kill('SIGINT')).on('error', () => child.kill('SIGINT')).resume()
child.on('exit', (code) => process.exit(code ?? 1))
child.on('error', () => process.exit(1))`
