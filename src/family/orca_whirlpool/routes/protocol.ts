/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'orca-whirlpool', name: 'Orca Whirlpools on Solana' }
