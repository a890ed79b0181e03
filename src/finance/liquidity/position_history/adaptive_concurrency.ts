import { type ChainClient, EndpointsTimedOutError } from '../../../chain/rpc/client.ts'
import { PendingError } from '../../../lib/error.ts'

/** A position as messages name it. */
interface PositionRef {
  readonly client: ChainClient
  readonly tokenId: bigint
}

/**
 * Works off items of a chain, at most `most` at the same time, and fewer if endpoints were late: what some of them
 * answered is kept by whoever asked, and a node that works them off one by one has fewer before it.
 */
export function createAdaptiveConcurrency(most: number) {
  const atOnce = new Map<number, number>()
  /** Throws as `work`, `EndpointsTimedOutError` if a single item is too much. */
  return async function inWaves<Item>(
    { chainId, items }: { readonly chainId: number; readonly items: readonly Item[] },
    work: (some: readonly Item[]) => Promise<unknown>,
  ): Promise<void> {
    for (let done = 0; done < items.length; ) {
      const count = atOnce.get(chainId) ?? most
      try {
        await work(items.slice(done, done + count))
        done += count
        atOnce.set(chainId, Math.min(most, count + 1))
      } catch (error) {
        if (!(error instanceof EndpointsTimedOutError) || count === 1) throw error
        atOnce.set(chainId, Math.ceil(count / 4))
      }
    }
  }
}

/** A position in messages. */
export function formatPosition({ client: { chain }, tokenId }: PositionRef): string {
  return `position ${tokenId} on chain ${chain.id} (${chain.name})`
}

/** Said if there is no time left when all flows are known but not yet `what`; what was read of that is kept. */
export function blocksPendingError(
  question: PositionRef,
  { what, done, of }: { readonly what: string; readonly done: number; readonly of: number },
): PendingError {
  const [percent, count] = [Math.floor((100 * done) / Math.max(1, of)), of - done]
  const share = `${percent} % done, ${count.toLocaleString('en')} blocks left`
  return new PendingError(`The history of ${formatPosition(question)} is read; ${what} being read: ${share}`, {
    progress: { percent, left: { count, unit: 'blocks' } },
  })
}
