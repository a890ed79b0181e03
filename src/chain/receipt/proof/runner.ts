import { Worker } from 'node:worker_threads'
import { untilAborted } from '../../../lib/async/abort.ts'
import type { ProofJob, ProofReply } from './job.ts'

/** Runs jobs in a thread of their own: a second of it must not hold up callers. */
export type ProofRunner = ReturnType<typeof createProofRunner>

/** The thread's program: a source, or what the build has put beside the program. */
const PROGRAM = new URL(
  import.meta.url.endsWith('.ts') ? './worker.ts' : 'Bun' in globalThis ? './proof.worker' : './proof_worker.mjs',
  import.meta.url,
)

/** Makes a runner, whose thread begins when it is first needed: whoever never proves has none. */
export function createProofRunner() {
  let worker: Worker | undefined
  let last: Promise<unknown> = Promise.resolve()

  function end(): void {
    void worker?.terminate()
    worker = undefined
  }

  function begun(): Worker {
    if (worker !== undefined) return worker
    const made = new Worker(PROGRAM)
    const forget = () => {
      if (worker === made) worker = undefined
    }
    // One that dies without a job fails nobody: the next job gets another.
    made.on('error', forget).on('exit', forget)
    made.unref()
    worker = made
    return made
  }

  function ask(job: ProofJob): Promise<ProofReply> {
    const asked = begun()
    // A program with nothing else to do may end, but not before the reply.
    asked.ref()
    return new Promise<ProofReply>((resolve, reject) => {
      const failed = () => {
        asked.off('message', replied)
        reject(new Error('The thread of proofs has ended'))
      }
      const replied = (reply: ProofReply) => {
        asked.off('error', failed).off('exit', failed)
        resolve(reply)
      }
      asked.once('message', replied).once('error', failed).once('exit', failed)
      asked.postMessage(job)
    }).finally(() => asked.unref())
  }

  async function runNext(job: ProofJob, signal: AbortSignal): Promise<ProofReply> {
    signal.throwIfAborted()
    try {
      return await untilAborted(ask(job), signal)
    } catch (error) {
      // A job cannot be ended but with its thread.
      end()
      throw error
    }
  }

  return {
    /** Begins the thread if there is none, for a job that is to come: it is ready by the time that endpoints have answered. */
    prepare(): void {
      begun()
    },
    /** The reply to a job. Jobs wait for one another. Throws if the thread dies, or as the signal says. */
    run(job: ProofJob, signal: AbortSignal): Promise<ProofReply> {
      const turn = last.then(() => runNext(job, signal))
      last = turn.catch(() => undefined)
      return turn
    },
    close: end,
  }
}
