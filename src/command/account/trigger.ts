import { readOrganization } from '../../account/organization.ts'
import { applyChange } from '../../trigger/apply_change.ts'
import { presentTrigger } from '../../trigger/routes/schema.ts'
import { prepareTriggerTest } from '../../trigger/routes/test_message.ts'
import { listTriggers } from '../../trigger/stored.ts'
import type { Clause } from '../../trigger/trigger.ts'
import { withOrganization } from '../account_database.ts'
import type { Command } from '../command.ts'
import { LIST_MAX, print, printRows } from '../print.ts'

/** `trigger list|test`. */
export const triggerCommands: readonly Command[] = [
  {
    name: 'trigger list',
    positionals: ['organization'],
    summary: 'List the triggers of an organization with their states, newest first',
    example: 'trigger list Shop',
    run: async (args, io) => {
      const triggers = await withOrganization(io, args.positionals[0] ?? '', async (db, organizationId) => {
        await readOrganization(db, organizationId)
        const page = await listTriggers(db, organizationId, { page: 1, limit: LIST_MAX })
        return page.triggers.map(presentTrigger)
      })
      if (args.json) return print(triggers, { args, io, text: '' })
      const rows = triggers.map(({ when, id, name, chain_id, family, state, value, changes }) => {
        return { id, name, chain_id, family, when: formatClause(when), state, value, changes }
      })
      printRows(rows, { args, io, none: 'No trigger yet: POST /v1/triggers creates one' })
    },
  },
  {
    name: 'trigger test',
    positionals: ['organization', 'trigger id'],
    summary: 'Send a test message about a trigger to its webhook and the feed',
    more: () => 'Ten an hour at most.',
    example: 'trigger test Shop trg_…',
    run: async (args, io) => {
      const [organization = '', id = ''] = args.positionals
      const sent = await withOrganization(io, organization, async (db, organizationId) => {
        const change = await prepareTriggerTest(db, { organizationId, id })
        return (await applyChange(db, organizationId, change)) as { readonly id: string }
      })
      print(sent, { args, io, text: `Added message ${sent.id}, which a running service posts` })
    },
  },
]

function formatClause(clause: Clause): string {
  if ('event' in clause) return clause.event.join(', ')
  const { figure, ...condition } = clause
  return `${figure} ${Object.entries(condition).flat().join(' ')}`
}
