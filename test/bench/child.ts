import { resolve } from 'node:path'
import type { BunFile } from 'bun'
import type { LoadJob, LoadResult } from './load.ts'

/** A child process that speaks one line of JSON at a time. */
export interface Child {
  readonly pid: number
  /** Next line of its standard output, parsed. Throws when it has ended instead. */
  read<T>(): Promise<T>
  write(message: unknown): void
  stop(): Promise<void>
}

/** Starts a program of this folder; its errors go to our own standard error unless a file is given for them. */
export function startChild(
  file: string,
  env: Readonly<Record<string, string>> = {},
  stderr: BunFile | 'inherit' = 'inherit',
): Child {
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, file)], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr,
    env: { ...process.env, ...env },
  })
  const lines = readLines(child.stdout)
  return {
    pid: child.pid,
    async read<T>() {
      const { value, done } = await lines.next()
      if (done || value === undefined) throw new Error(`Cannot read from ${file}: it ended with ${await child.exited}`)
      return JSON.parse(value) as T
    },
    write(message) {
      child.stdin.write(`${JSON.stringify(message)}\n`)
      child.stdin.flush()
    },
    async stop() {
      child.stdin.end()
      child.kill('SIGTERM')
      const deadline = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await child.exited
      clearTimeout(deadline)
    },
  }
}

/** Children that end together. */
export function createChildGroup() {
  const children: Child[] = []
  return {
    start(file: string, env: Readonly<Record<string, string>> = {}): Child {
      const child = startChild(file, env)
      children.push(child)
      return child
    },
    stop: () => Promise.all(children.map((child) => child.stop())),
  }
}

/** Has the load generator offer one burst. */
export async function offer(generator: Child, job: LoadJob): Promise<LoadResult> {
  generator.write(job)
  return await generator.read<LoadResult>()
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    yield* parts
  }
}
