/** Colour of each state of a trigger. @type {Record<import('./shapes.d.ts').Trigger['state'], string>} */
export const STATE_KINDS = {
  armed: 'good',
  pending: 'warn',
  fired: 'bad',
  paused: 'closed',
  blind: 'warn',
  expired: 'closed',
}

/** Formats a condition: `health factor below 1.05`. @param {import('./shapes.d.ts').Trigger['when']} when */
export function formatClause(when) {
  if ('event' in when) return when.event.join(', ').replaceAll('_', ' ')
  const figure = when.figure.replaceAll('_', ' ')
  if ('is' in when) return `${when.is ? '' : 'not '}${figure}`
  return 'below' in when ? `${figure} below ${when.below}` : `${figure} above ${when.above}`
}

/** Lists the destinations of messages: the feed and the webhooks, each as id and label. @param {readonly import('./shapes.d.ts').Webhook[]} webhooks @returns {(readonly [string, string])[]} */
export function listDestinations(webhooks) {
  return [['', 'the feed only'], ...webhooks.map(({ id, name, url }) => /** @type {const} */ ([id, name || url]))]
}
