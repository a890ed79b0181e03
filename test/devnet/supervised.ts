/**
 * Becomes the command, and leaves a watcher behind that signals it when our end of the pipe closes: whatever way this
 * process ends, `kill -9` included, the command does not outlive it.
 */
const WATCH = 'exec 3<&0; { cat <&3; kill -"$0" $$; } >/dev/null 2>&1 & exec "$@" 3<&- </dev/null'

export interface SupervisedOptions {
  /** What the command is sent when this process is gone. @default 'KILL' */
  readonly lastSignal?: 'KILL' | 'TERM'
  /** The command's whole environment; absent: ours. */
  readonly env?: Readonly<Record<string, string>>
  /** Where what it writes to its standard error goes. @default 'ignore' */
  readonly stderr?: 'ignore' | 'inherit'
}

export interface SupervisedProcess {
  readonly pid: number
  readonly stdout: ReadableStream<Uint8Array>
  /** Resolves to the exit status when the command is gone, for whatever reason. */
  readonly exited: Promise<number>
  /** Sends `signal`, waits, kills after `limitMs`; returns when the command is gone. */
  stop(signal: 'SIGKILL' | 'SIGTERM', limitMs: number): Promise<void>
}

/** Starts a command that ends with this process, in a session of its own: Ctrl-C reaches us alone, and we decide. */
export function spawnSupervised(command: readonly string[], options: SupervisedOptions = {}): SupervisedProcess {
  const { lastSignal = 'KILL', env = process.env, stderr = 'ignore' } = options
  const child = Bun.spawn(['sh', '-c', WATCH, lastSignal, ...command], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr,
    env,
    detached: true,
  })
  // It stays referenced: Bun's loop does not sleep while it waits for nothing but a child that is not.
  return {
    pid: child.pid,
    stdout: child.stdout,
    exited: child.exited,
    stop: async (signal, limitMs) => {
      child.kill(signal)
      const limit = setTimeout(() => child.kill('SIGKILL'), limitMs)
      await child.exited
      clearTimeout(limit)
      await child.stdin.end()
    },
  }
}

/** Hands every line of a stream to `onLine`, and so keeps its writer from blocking on a full pipe. */
export async function eachLine(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  }
  if (rest !== '') onLine(rest)
}
