import { type AnyEvent, dataOf } from '../../application/core/events/event-codec.ts';
import {
  UserForgotten,
  UserPasswordSet,
  UserRoleChanged,
  UserStatusChanged,
} from '../../domain/identity/user.ts';

/** Events that may close sockets of one person. */
export const WITHDRAWALS = [UserStatusChanged, UserRoleChanged, UserForgotten, UserPasswordSet] as const;

/** The person whose sockets an event closes. */
export const withdrawnFrom = (event: AnyEvent): string | undefined => {
  const status = dataOf(UserStatusChanged, event);
  if (status?.status === 'deactivated') return status.user_id;
  const password = dataOf(UserPasswordSet, event);
  if (password?.ends_sessions === true) return password.user_id;
  const role = dataOf(UserRoleChanged, event);
  // A lowered role: the user may reconnect with the remaining rights.
  if (role?.role === 'operator') return role.user_id;
  return dataOf(UserForgotten, event)?.user_id;
};
