import type { Trigger, Webhook } from './shapes.ts'

/** Colour of each state of a trigger. */
export const STATE_KINDS: Record<Trigger['state'], string> = {
  armed: 'good',
  pending: 'warn',
  fired: 'bad',
  paused: 'closed',
  blind: 'warn',
  expired: 'closed',
}

/** Formats a condition: `health factor below 1.05`. */
export function formatClause(when: Trigger['when']) {
  if ('event' in when) return when.event.join(', ').replaceAll('_', ' ')
  const figure = when.figure.replaceAll('_', ' ')
  if ('is' in when) return `${when.is ? '' : 'not '}${figure}`
  return 'below' in when ? `${figure} below ${when.below}` : `${figure} above ${when.above}`
}

/** Lists the destinations of messages: the feed and the webhooks, each as id and label. */
export function listDestinations(webhooks: readonly Webhook[]): (readonly [string, string])[] {
  return [['', 'this page alone'], ...webhooks.map(({ id, name, url }) => [id, name || url] as const)]
}
