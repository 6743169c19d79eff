package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.Test;

class KernelAuditTests {

    @Test
    void countsTheObjectsOfOneProcessByKind() {
        String json = """
                [{"ifname":"rxe0","port":1,"lqpn":17,"rqpn":18,"type":"RC","pdn":3,"pid":168,"comm":"java"},
                {"ifname":"rxe0","port":1,"lqpn":18,"type":"RC","pdn":4,"pid":1680,"comm":"rping"},
                {"ifname":"rxe0","port":1,"lqpn":1,"type":"GSI","comm":"ib_core"}]
                [{"ifname":"rxe0","cqn":1,"cqe":63,"users":2,"ctxn":1,"pid":168,"comm":"java"}]
                [{"ifname":"rxe0","mrn":0,"mrlen":16,"pdn":3,"pid":168,"comm":"java"},
                {"ifname":"rxe0","mrn":1,"mrlen":16,"pdn":3,"pid":169,"comm":"java"},
                {"ifname":"rxe0","mrn":2,"mrlen":16,"pdn":3}]
                [{"ifname":"rxe0","pdn":3,"users":5,"ctxn":1,"pid":168,"comm":"java"}]
                [{"ifname":"rxe0","port":1,"cm-idn":1,"lqpn":17,"state":"CONNECT","pid":168,"comm":"java"}]
                [{"ifname":"rxe0","srqn":0,"type":"BASIC","lqpn":["17"],"pdn":3,"pid":168,"comm":"java"}]
                """;
        assertThat(KernelAudit.count(json, Set.of(168L, 169L)).toString())
                .as("of two threads, and of one that has ended")
                .isEqualTo("{cm_id=1, cq=1, mr=3, pd=1, qp=1, srq=1}");
        assertThat(KernelAudit.count(json, Set.of(1680L)).toString()).isEqualTo("{mr=1, qp=1}");
    }
}
