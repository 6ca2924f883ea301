/* Names of Kubernetes pods. A control group has a pod's UID alone; the kubelet keeps the logs of each pod in a folder of its own,
 * made before the pod's first container starts:
 *
 *   /var/log/pods/shop_cart-6d9f7c5b4-x2x7q_0a1b2c3d-1111-2222-3333-444455556666
 */
#pragma once

#define POD_LOGS     "/var/log/pods"
#define POD_LOGS_MAX 10000 /* folders that are looked at: a node has some hundred pods */

/* "NAMESPACE/POD/ID" for a container that describe_cgroup() calls "podUID/ID"; NULL for any other, and where `logs` has no folder of
 * that UID. The caller frees. */
char *pod_name(const char *logs, const char *container);
