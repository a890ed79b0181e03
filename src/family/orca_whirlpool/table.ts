/** Programs on Solana's mainnet: the original one, and the frozen one of May 2026 with the same source. */
export const WHIRLPOOL_PROGRAMS: readonly string[] = [
  'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc',
  'iwhrLHdsgrvmnwU8GF2FSmyabSMjfHwFGJAX2ufJ3ZN',
]
