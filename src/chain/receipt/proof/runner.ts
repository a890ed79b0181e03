import { Worker } from 'node:worker_threads'
import { untilAborted } from '../../../lib/async/abort.ts'
import type { ProofJob, ProofReply } from './job.ts'

/** Runs proof jobs in a worker thread: a job can take a second, which must not block callers. */
export type ProofRunner = ReturnType<typeof createProofRunner>

/** Entry point of the worker thread: the source, or the file that the build puts beside the bundle. */
const PROGRAM = new URL(
  import.meta.url.endsWith('.ts') ? './worker.ts' : 'Bun' in globalThis ? './proof.worker' : './proof_worker.mjs',
  import.meta.url,
)

/** Creates a runner. The worker thread starts on first use. */
export function createProofRunner() {
  let worker: Worker | undefined
  let last: Promise<unknown> = Promise.resolve()

  function terminate(): void {
    void worker?.terminate()
    worker = undefined
  }

  function getWorker(): Worker {
    if (worker !== undefined) return worker
    const newWorker = new Worker(PROGRAM)
    const forget = () => {
      if (worker === newWorker) worker = undefined
    }
    // If an idle worker dies, the next job starts a new one.
    newWorker.on('error', forget).on('exit', forget)
    newWorker.unref()
    worker = newWorker
    return newWorker
  }

  function runJob(job: ProofJob): Promise<ProofReply> {
    const jobWorker = getWorker()
    // The process stays alive until the reply; an idle worker does not keep it alive.
    jobWorker.ref()
    return new Promise<ProofReply>((resolve, reject) => {
      const onFailure = () => {
        jobWorker.off('message', onReply)
        reject(new Error('The thread of proofs has ended'))
      }
      const onReply = (reply: ProofReply) => {
        jobWorker.off('error', onFailure).off('exit', onFailure)
        resolve(reply)
      }
      jobWorker.once('message', onReply).once('error', onFailure).once('exit', onFailure)
      jobWorker.postMessage(job)
    }).finally(() => jobWorker.unref())
  }

  async function runNext(job: ProofJob, signal: AbortSignal): Promise<ProofReply> {
    signal.throwIfAborted()
    try {
      return await untilAborted(runJob(job), signal)
    } catch (error) {
      // A running job can only be stopped by terminating its thread.
      terminate()
      throw error
    }
  }

  return {
    /** Starts the thread ahead of a job, so that it is ready when the endpoints have answered. */
    prepare(): void {
      getWorker()
    },
    /** Runs a job; jobs run one after another. Throws if the thread dies or the signal is aborted. */
    run(job: ProofJob, signal: AbortSignal): Promise<ProofReply> {
      const turn = last.then(() => runNext(job, signal))
      last = turn.catch(() => undefined)
      return turn
    },
    close: terminate,
  }
}
