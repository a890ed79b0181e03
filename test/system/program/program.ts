import { chmodSync, copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KEPT_MEMORY } from '../../support/allocators.ts'
import { fillDataDirectory, temporaryDirectory } from '../../support/database.ts'
import { ask } from './http.ts'

const ROOT = join(import.meta.dir, '../../..')
/** More than a busy machine takes. */
const READY_LIMIT_MS = 90_000
const STOP_LIMIT_MS = 40_000

/** One form of the product, in an empty directory, with the given environment only. */
export interface Program {
  readonly directory: string
  readonly env: Readonly<Record<string, string>>
  /** Command line that serves. */
  readonly serve: readonly string[]
  /** Command line that the words of a command are added to. */
  readonly command: readonly string[]
  remove(): void
}

/** A running `serve`. */
export interface Service {
  readonly pid: number
  readonly port: number
  readonly stdout: () => string
  readonly stderr: () => string
  readonly exited: Promise<number>
  /** Sends a signal and waits for the end, at most 40 s; answers status and milliseconds. Throws when it stays. */
  stop(signal?: NodeJS.Signals): Promise<{ readonly status: number; readonly ms: number }>
}

/** What a finished command left. */
export interface Finished {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

type Environment = Readonly<Record<string, string>>

/** The source, run by the Bun that runs the tests. */
export function sourceProgram(env: Environment): Program {
  const { directory, remove } = emptyDirectory()
  const command = [process.execPath, join(ROOT, 'src/main.ts')]
  return { directory, env, serve: [...command, 'serve'], command, remove }
}

/** The executable, copied so that nothing of the source stands beside it. */
export function executableProgram(env: Environment): Program {
  const { directory, remove } = emptyDirectory()
  const path = join(directory, '../walletscope')
  linkSync(copyOfExecutable(), path)
  return { directory, env, serve: [path], command: [path], remove }
}

let copy: string | undefined

/** One copy for all tests of this process, where their programs are: it has 137 MB. */
function copyOfExecutable(): string {
  if (copy !== undefined) return copy
  copy = join(temporaryDirectory(), 'walletscope')
  copyFileSync(join(ROOT, 'dist/walletscope'), copy)
  chmodSync(copy, 0o755)
  return copy
}

/** A copy of the bundle, on Node. */
export function nodeProgram(env: Environment): Program {
  const { directory, remove } = emptyDirectory()
  const node = Bun.which('node')
  if (node === null) throw new Error('Cannot run the Node bundle: there is no node on the PATH')
  for (const file of ['walletscope.mjs', 'proof_worker.mjs', 'licenses.notices'])
    copyFileSync(join(ROOT, 'dist/node', file), join(directory, '..', file))
  const path = join(directory, '../walletscope.mjs')
  return { directory, env, serve: [node, path], command: [node, path], remove }
}

/** Starts `serve` and waits until it is ready. Throws with its output if it exits before that. */
export async function startService(program: Program, env: Environment = {}): Promise<Service> {
  const service = await spawnService(program, env)
  const deadline = performance.now() + READY_LIMIT_MS
  while ((await ask(service.port, { method: 'GET', target: '/readyz', headers: {} })).status !== 200) {
    if (performance.now() > deadline) throw new Error(`Cannot wait for readiness any longer: ${service.stderr()}`)
    await Bun.sleep(20)
  }
  return service
}

/** Starts `serve` and waits until it listens, ready or not. */
export async function spawnService(program: Program, env: Environment = {}): Promise<Service> {
  const child = Bun.spawn([...program.serve], {
    cwd: program.directory,
    env: { ...KEPT_MEMORY, ...program.env, PORT: '0', ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const { promise: listening, resolve } = Promise.withResolvers<number>()
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr, (text) => {
    const port = /"port":(\d+)/.exec(text)?.[1]
    if (port !== undefined) resolve(Number(port))
  })
  const port = await Promise.race([
    listening,
    child.exited.then((status) => Bun.sleep(20).then(() => failed(`it ended with status ${status}: ${stderr()}`))),
    Bun.sleep(READY_LIMIT_MS).then(() => failed(`it does not listen after ${READY_LIMIT_MS} ms: ${stderr()}`)),
  ])
  return {
    pid: child.pid,
    port,
    stdout,
    stderr,
    exited: child.exited,
    async stop(signal = 'SIGTERM') {
      const startedMs = performance.now()
      child.kill(signal)
      const status = await Promise.race([
        child.exited,
        Bun.sleep(STOP_LIMIT_MS).then(() => {
          child.kill('SIGKILL')
          return failed(`it is still there ${STOP_LIMIT_MS} ms after ${signal}: ${stderr()}`)
        }),
      ])
      return { status, ms: performance.now() - startedMs }
    },
  }
}

/** Gives the program an embedded database that was made before, which spares its first start most of its work. */
export async function giveDatabase(program: Program): Promise<void> {
  const data = join(program.directory, 'data')
  mkdirSync(data, { mode: 0o755 })
  await fillDataDirectory(data, { programs: true })
}

/** Runs one command of the command line to its end. */
export async function runCommand(program: Program, words: readonly string[], env: Environment = {}): Promise<Finished> {
  const child = Bun.spawn([...program.command, ...words], {
    cwd: program.directory,
    env: { ...KEPT_MEMORY, ...program.env, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { status, stdout, stderr }
}

function failed(reason: string): never {
  throw new Error(`Cannot use the service: ${reason}`)
}

/** `run` inside a directory that holds nothing else, so that `data/` is the only thing that may appear there. */
function emptyDirectory(): { readonly directory: string; remove(): void } {
  const parent = mkdtempSync(join(tmpdir(), 'walletscope-'))
  // The embedded server gives up root, and must still be able to walk here.
  chmodSync(parent, 0o755)
  const directory = join(parent, 'run')
  mkdirSync(directory, { mode: 0o755 })
  return { directory, remove: () => rmSync(parent, { recursive: true, force: true }) }
}

function collect(stream: ReadableStream<Uint8Array>, seen: (text: string) => void = () => undefined): () => string {
  let text = ''
  const read = async () => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true })
      seen(text)
    }
  }
  void read()
  return () => text
}
