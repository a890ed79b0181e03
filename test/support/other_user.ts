import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from './database.ts'

/** True if tests can act as other users of this system. */
export const IS_ROOT = process.platform === 'linux' && process.getuid?.() === 0

let program: string | undefined

/**
 * Runs a script of JavaScript as another user, in a group of the same number, and returns what it printed; its words
 * begin at `process.argv[2]`. Needs root.
 */
export function runAs(uid: number, script: string, words: readonly string[] = []): string {
  const { stdout, stderr, status } = spawnSync(reachableBun(), ['-e', script, 'script', ...words], {
    ...identity(uid),
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`Cannot run a script as uid ${uid}: status ${status}, ${stderr}`)
  return stdout.trim()
}

/** Starts a script the same way; `stop()` kills it and resolves to what it printed. */
export function startAs(
  uid: number,
  script: string,
  words: readonly string[] = [],
): { printed(): string; stop(): Promise<string> } {
  const child = spawn(reachableBun(), ['-e', script, 'script', ...words], {
    ...identity(uid),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout?.on('data', (chunk) => {
    printed += chunk
  })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  return {
    printed: () => printed,
    async stop() {
      child.kill('SIGKILL')
      await closed
      return printed.trim()
    },
  }
}

function identity(uid: number) {
  return { uid, gid: uid, cwd: '/', env: { HOME: '/nonexistent', PATH: '/usr/bin:/bin' } }
}

/** A copy of the Bun that runs the tests: its own place may be closed to others. */
function reachableBun(): string {
  if (program === undefined) {
    program = join(temporaryDirectory(), 'bun')
    copyFileSync(process.execPath, program)
    chmodSync(program, 0o755)
  }
  return program
}
