/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'morpho-blue', name: 'Morpho Blue' }
