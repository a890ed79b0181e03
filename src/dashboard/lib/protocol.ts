/** Names that do not follow from the code. */
const NAMES: Record<string, string> = {
  wallet: 'In the wallet',
  projectx_v3: 'Project X',
  orca_whirlpool: 'Orca',
  velodrome_slipstream_v0: 'Velodrome Slipstream, first release',
}

/** Names a protocol of its code or of the segment of its path: `Aave V3` of `aave_v3`, so that a new one needs no entry. */
export function nameProtocol(code: string) {
  const known = NAMES[code.replaceAll('-', '_')]
  const words = code.split(/[_-]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return known ?? words.join(' ').replace('swap V', 'Swap V').replace('UniSwap', 'Uniswap')
}
