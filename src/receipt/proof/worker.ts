import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'
import type { ProofJob, ProofReply } from './job.ts'
import { ProofError } from './lookup.ts'
import { cacheCodeAnalysis, runProof } from './run_proof.ts'

lowerPriority()
const ready = cacheCodeAnalysis()

/** Answers each job with one reply. */
parentPort?.on('message', async (job: ProofJob) => {
  await ready
  parentPort?.postMessage(await runJob(job))
})

async function runJob(job: ProofJob): Promise<ProofReply> {
  try {
    return { run: await runProof(job) }
  } catch (error) {
    return { fault: error instanceof ProofError ? error.message : 'the proof cannot be read' }
  }
}

/** Lowers this thread's priority, so that the threads that answer callers go first. Linux has priorities per thread. */
function lowerPriority(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Other systems have one priority per process.
  }
}
