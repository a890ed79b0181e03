import { type Network, parseNetwork } from '../../src/lib/text/network.ts'

/** The networks of these texts. Throws if one cannot be read. */
export function parseNetworks(...texts: readonly string[]): readonly Network[] {
  return texts.map((text) => {
    const network = parseNetwork(text)
    if (network === undefined) throw new Error(`Cannot read the network "${text}"`)
    return network
  })
}
