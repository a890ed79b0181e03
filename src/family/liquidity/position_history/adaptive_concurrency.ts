import { type ChainClient, isUnavailable } from '../../../chain/rpc/client.ts'
import { PendingError } from '../../../lib/error.ts'

/** A position to be named in messages. */
interface PositionRef {
  readonly client: ChainClient
  readonly tokenId: bigint
}

/**
 * Processes items of a chain with adaptive concurrency (at most `concurrencyMax`); timeouts lower it. Completed items
 * are cached by the caller.
 */
export function createAdaptiveConcurrency(concurrencyMax: number) {
  const concurrencyByChain = new Map<number, number>()
  /** Throws as `work`, `ChainUnavailableError` (late) if a single item is too much. */
  return async function runAdaptively<Item>(
    { chainId, items }: { readonly chainId: number; readonly items: readonly Item[] },
    work: (batch: readonly Item[]) => Promise<unknown>,
  ): Promise<void> {
    for (let done = 0; done < items.length; ) {
      const count = concurrencyByChain.get(chainId) ?? concurrencyMax
      try {
        await work(items.slice(done, done + count))
        done += count
        concurrencyByChain.set(chainId, Math.min(concurrencyMax, count + 1))
      } catch (error) {
        if (!isUnavailable(error, 'late') || count === 1) throw error
        concurrencyByChain.set(chainId, Math.ceil(count / 4))
      }
    }
  }
}

/** Formats a position for messages. */
export function formatPosition({ client: { chain }, tokenId }: PositionRef): string {
  return `position ${tokenId} on chain ${chain.id} (${chain.name})`
}

/** The error if the request times out after the flows and before `what`; completed blocks stay cached. */
export function blocksPendingError(
  position: PositionRef,
  { what, done, total }: { readonly what: string; readonly done: number; readonly total: number },
): PendingError {
  const [percent, count] = [Math.floor((100 * done) / Math.max(1, total)), total - done]
  const share = `${percent} % done, ${count.toLocaleString('en')} blocks left`
  return new PendingError(`The history of ${formatPosition(position)} is read; ${what} being read: ${share}`, {
    progress: { percent, left: { count, unit: 'blocks' } },
  })
}
