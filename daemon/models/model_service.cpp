#include "daemon/models/model_service.h"

#include "daemon/models/candidate_run.h"

namespace cortexfs::models {

ModelService::ModelService(ModelServices services) : m_services(std::move(services)) {}

std::unique_ptr<ModelRun> ModelService::createRun(RunRequest request)
{
    std::vector<Candidate> candidates = candidatesFor(m_services.catalog(), request.model);
    return std::make_unique<CandidateRun>(m_services, std::move(request), std::move(candidates));
}

} // namespace cortexfs::models
