import { LateError } from '../../../chain/rpc/client.ts'

/**
 * Works off items of a chain, at most `most` at the same time, and fewer if endpoints were late: what some of them
 * answered is kept by whoever asked, and a node that works them off one by one has fewer before it.
 */
export function createWaves(most: number) {
  const atOnce = new Map<number, number>()
  /** Throws as `work`, `LateError` if a single item is too much. */
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
        if (!(error instanceof LateError) || count === 1) throw error
        atOnce.set(chainId, Math.ceil(count / 4))
      }
    }
  }
}
