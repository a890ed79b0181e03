import type { ChainClient } from '../../chain/rpc/client.ts'
import type { ExpectedTip, Finality, Tip } from './finality.ts'

/** The tip of a chain while it is read, for whoever will need it. */
export interface BegunTip {
  /** As `Finality.tip`. */
  tip(expect: (tip: ExpectedTip) => void): Promise<Tip>
}

/** Begins to read the tip of a chain. */
export function beginTip(finality: Finality, client: ChainClient, signal: AbortSignal): BegunTip {
  const waiting = new Set<(tip: ExpectedTip) => void>()
  let known: ExpectedTip | undefined
  const tip = finality.tip(client, signal, (expected) => {
    known = expected
    for (const expect of waiting) expect(expected)
  })
  tip.catch(() => {})
  return {
    tip(expect) {
      if (known !== undefined) expect(known)
      waiting.add(expect)
      return tip
    },
  }
}
