import { createSolanaClient } from '../../chain/solana/client.ts'
import { type Finding, failed, good } from '../../lib/finding.ts'
import type { Config } from '../../service/config/config.ts'
import type { Examination } from './evm.ts'

/** Asks one endpoint of Solana for the cluster's clock, which every read includes. */
export async function examineSolana(
  { rpcUrls, ...options }: Config['solana'],
  index: number,
  { clock, fetch, log, signal }: Examination,
): Promise<readonly Finding[]> {
  const client = createSolanaClient({ ...options, rpcUrls: rpcUrls.slice(index, index + 1), clock, log, fetch })
  const startedMs = clock.monotonicMs()
  try {
    const { slot, timestampSec } = await client.read((session) => session.accounts([]), { signal })
    const ms = Math.round(clock.monotonicMs() - startedMs)
    const ageSec = Math.round(clock.now() / 1_000 - Number(timestampSec))
    return [good('answers', `in ${ms} ms`), good('head', `slot ${slot}, ${ageSec} s old`)]
  } catch (error) {
    if (signal.aborted) throw error
    const { cause } = error as { readonly cause?: unknown }
    const reason = cause instanceof Error ? cause.message : 'it gave no good answer in time'
    return [failed('answers', reason, 'nothing is read from it')]
  } finally {
    client.close()
  }
}
